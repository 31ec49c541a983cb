/** `talaria acp`: an agent for editors over stdio (docs/editors.md). stdout has JSON-RPC alone. */

import { serveAcp } from '../acp/serve.mjs'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'

export const run = ({ options: { sync } }) =>
  serveAcp(createClient(requireConfig()), { input: process.stdin, output: process.stdout, folder: sync })
