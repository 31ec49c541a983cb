/** Exports the line matcher as a module for deployments without a Worker Loader. */

export { matchLines } from './platform-match.ts'
