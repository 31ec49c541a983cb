import type { BuildResult, OutputFile } from 'esbuild'

type Options = { readonly entry?: string; readonly hasLoader?: boolean }
type Bundle = BuildResult<{ metafile: true; write: false }> & { readonly outputFiles: OutputFile[] }

export declare function bundleWorker(options?: Options): Promise<Bundle>
export declare function bindsLoader(config?: string): boolean
export declare function listCore(metafile: Bundle['metafile']): string[]
