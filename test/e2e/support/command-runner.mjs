/** Runs commands of the command line one after another in one process: the start of a process costs more than most of them. */

import { main } from '../../../cli/main.mjs'

process.on('message', async ({ args, env, cwd }) => {
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(env, name)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  const printed = { stdout: '', stderr: '' }
  const real = {}
  for (const name of ['stdout', 'stderr']) {
    real[name] = process[name].write
    process[name].write = (text, ...more) => {
      printed[name] += text.toString()
      more.findLast((one) => typeof one === 'function')?.()
      return true
    }
  }
  const code = await main(args).catch((error) => {
    printed.stderr += `${error.stack}\n`
    return 1
  })
  Object.assign(process.stdout, { write: real.stdout }).removeAllListeners('error')
  Object.assign(process.stderr, { write: real.stderr }).removeAllListeners('error')
  process.send({ code, out: printed.stdout, err: printed.stderr })
})
