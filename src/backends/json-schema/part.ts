/** Exports the validator with its regular expressions. They are bundled apart, because few turns name a format. */

export { validateJson } from './validate.ts'
