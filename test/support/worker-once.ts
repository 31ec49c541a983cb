/**
 * Imports each module once for each isolate. The test runner imports the worker anew for every call of an object and every
 * request, and asks Node over a socket where the file is each time (`@cloudflare/vitest-plugin` 1.1). It asks for each module
 * that a test file imports too, although none changes during a run (`vite` 8).
 */

type Module = { readonly meta?: unknown }
type Runner = {
  import: (path: string) => Promise<unknown>
  getModuleInformation: (url: string, importer: string | undefined, known: Module | undefined) => Promise<Module>
  worker?: { readonly default: Required<Pick<ExportedHandler<Env>, 'fetch'>> }
}

export const { moduleRunner: runner } = Reflect.get(globalThis, '__vitest_mocker__') as {
  readonly moduleRunner: Runner
}

const load = runner.import.bind(runner)
runner.import = async (path) =>
  path.endsWith('/test/support/worker.ts')
    ? (runner.worker ??= (await load(path)) as NonNullable<Runner['worker']>)
    : load(path)

const ask = runner.getModuleInformation.bind(runner)
runner.getModuleInformation = async (url, importer, known) => (known?.meta ? known : ask(url, importer, known))
