/** Exports the shell as a module for deployments without a Worker Loader. */

export { runShell } from './run.ts'
