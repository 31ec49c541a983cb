/**
 * Imports the bundles of scripts/build-isolate.mjs on first use, so that they are no part of the core bundle. Only this
 * file can import them: wrangler resolves their paths against its folder (`base_dir`).
 */

/** For deployments without a Worker Loader. */
export const inlineShell = () => import('./dist/bash.inline.mjs')
export const inlinePdf = () => import('./dist/pdf.inline.mjs')
export const inlineOffice = () => import('./dist/office.inline.mjs')
export const inlineSearch = () => import('./dist/search.inline.mjs')

/** The client of the Anthropic SDK. */
export const inlineAnthropic = () => import('./dist/anthropic.inline.mjs')

/** The library that verifies tokens of identity providers. */
export const inlineJose = () => import('./dist/jose.inline.mjs')

/** Code of isolates. Its first line is a hash of the rest. */
export const shellCode = async () => (await import('./dist/bash.isolate.txt')).default
export const pdfCode = async () => (await import('./dist/pdf.isolate.txt')).default
export const officeCode = async () => (await import('./dist/office.isolate.txt')).default
export const searchCode = async () => (await import('./dist/search.isolate.txt')).default
export const compilerCode = async () => (await import('./dist/compile.isolate.txt')).default
export const runnerCode = async () => (await import('./dist/run.isolate.txt')).default
