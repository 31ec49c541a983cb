/** Exports the reader of HTML pages as a module for deployments without a Worker Loader. */

export { readPage as read } from './read-page.ts'
