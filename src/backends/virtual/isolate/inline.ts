/** The shell as a module of its own, loaded with the first command where no isolate can be had. */

export { runShell } from './run.ts'
