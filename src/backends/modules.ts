/**
 * What is loaded only when it is needed, and no part of the core. scripts/build-isolate.mjs makes these modules;
 * wrangler finds them beside this file (`base_dir`) and keeps the paths as they are written, so that they can be
 * imported from here alone.
 */

/** For where there is no loader of isolates. */
export const inlineShell = () => import('./dist/bash.inline.mjs')
export const inlinePdf = () => import('./dist/pdf.inline.mjs')

/** Code of isolates. Its first line names its contents. */
export const shellCode = async () => (await import('./dist/bash.isolate.txt')).default
export const pdfCode = async () => (await import('./dist/pdf.isolate.txt')).default
export const compilerCode = async () => (await import('./dist/compile.isolate.txt')).default
export const runnerCode = async () => (await import('./dist/run.isolate.txt')).default
