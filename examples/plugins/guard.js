/** Blocks pushes to the main branch, and has a person look at every other push. */

export const hooks = {
  pre_tool_call: {
    matcher: 'terminal',
    required: true,
    run({ args }) {
      if (!/\bgit\s+push\b/.test(args.command ?? '')) return
      if (/\b(?:main|master)\b/.test(args.command))
        return { action: 'block', message: 'nobody pushes to the main branch' }
      return { action: 'approve', message: 'it pushes to a remote repository' }
    },
  },
}
