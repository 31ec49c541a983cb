#!/usr/bin/env node
/** The command line of Talaria. It needs Node 20 and no packages. */

import { main } from '../cli/main.mjs'

process.exitCode = await main(process.argv.slice(2))
