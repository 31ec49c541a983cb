/** Types of the bundled skills, which scripts/build-isolate.mjs includes as text. */

declare module '*.md' {
  const text: string
  export default text
}
