/** Exports the PDF reader as a module for deployments without a Worker Loader. */

export { readWithLimits as read } from './read-with-limits.ts'
