/** The two bundles scripts/build-isolate.mjs makes of ./isolate: text for a loader, a module for everywhere else. */

declare module '*.isolate.txt' {
  const code: string
  export default code
}

declare module '*/bash.inline.mjs' {
  export const runShell: import('./protocol.ts').RunShell
}
