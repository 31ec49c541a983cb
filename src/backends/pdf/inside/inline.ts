/** The reader as a module of its own, loaded with the first PDF where no isolate can be had. */

export { readWithLimits as read } from './read-with-limits.ts'
