/** Describes the tags of the OpenAPI document, in the order in which the reference shows them. */

const descriptions: Readonly<Record<string, string>> = {
  OpenAI: 'The API of OpenAI. Official SDKs and clients work unchanged: set the base URL to `/v1` of this deployment.',
  Runs: 'Runs that outlive their request. Every run of the tenant is found here by its id, wherever it began.',
  Sessions: 'Conversations with their workspaces: list, create, change, copy, shorten, export, delete.',
  Chat: 'Messages to a session, its events, and the runs that answer.',
  Files: 'The workspace of a session, and files by signed links.',
  Checkpoints: 'Earlier states of a workspace, and the way back to them.',
  Approvals: 'Tool calls that a person has to allow.',
  Questions: 'Questions of the agent that a person has to answer.',
  Search: 'Full text over the history of the tenant.',
  Tools: 'Tools and toolsets of the agent, and what missing ones need.',
  Skills: 'Instructions for kinds of work that the agent loads when it needs them.',
  Memory: 'Facts that the agent keeps between sessions, and profiles of the people it works for.',
  Jobs: 'Prompts and scripts that run at their times, and the records of their runs.',
  Settings: 'Preferences and policy of the tenant.',
  Credentials: 'Provider keys of the tenant, and secrets for commands. They are write-only.',
  Push: 'Messages to browsers that are not open: what waits for a person, and ends of runs.',
  Channels: 'Connections to messaging platforms, their webhooks, and the people who may write.',
  Webhooks: 'Addresses to which other services deliver events, and what happens with them.',
  Keys: 'Keys of the tenant, for its own scripts and devices.',
  Usage: 'Tokens, cost and limits of the tenant, and the hosts that its agents call.',
  'Sign-in': 'The cookie of the page, links that sign in once, and the rights of a key.',
  Audit: 'Who did and decided what.',
  Administration: 'Tenants, keys and login rules, for the owner of the deployment.',
  Health: 'Whether the deployment works, and what it has.',
  Documents: 'This document.',
}

/** The tags in use. One without a description comes last. */
export function renderTags(used: ReadonlySet<string>): readonly object[] {
  const known = Object.keys(descriptions).filter((name) => used.has(name))
  const others = [...used].filter((name) => !Object.hasOwn(descriptions, name))
  return [...known, ...others].map((name) => ({
    name,
    ...(Object.hasOwn(descriptions, name) && { description: descriptions[name] }),
  }))
}
