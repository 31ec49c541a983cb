/** Exports the shell policy and its parser. They are bundled apart, because many turns run no command. */

export { shellPolicy } from '#agent/shell-policy/shell-policy.ts'
