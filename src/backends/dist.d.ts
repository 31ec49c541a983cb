/** Types of what scripts/build-isolate.mjs builds: the code of isolates, as text for the Worker Loader. */

declare module '*.isolate.txt' {
  const code: import('#backends/isolate-code.ts').StoredCode
  export default code
}
