/** Names every screen. Tests walk through all of them. */

export const screenNames = [
  'chat',
  'inbox',
  'sessions',
  'projects',
  'run',
  'files',
  'models',
  'settings',
  'usage',
  'channels',
  'jobs',
  'batches',
  'evals',
  'memory',
  'skills',
  'mcp',
  'tools',
  'plugins',
  'secrets',
  'tree',
  'browser',
  'owner',
  'account',
  'keys',
] as const
export type ScreenName = (typeof screenNames)[number]
