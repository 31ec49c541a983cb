/** Exports the reader of office documents as a module for deployments without a Worker Loader. */

export { readOffice as read } from './read-stream.ts'
