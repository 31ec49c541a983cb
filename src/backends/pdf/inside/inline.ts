/** The reader as a module of its own, loaded with the first PDF where no isolate can be had. */

export { readBounded as read } from './bounded.ts'
