import type { Plugin } from 'esbuild'

export declare const packagePlugins: Plugin[]
