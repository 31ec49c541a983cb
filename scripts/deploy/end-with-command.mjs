// Loaded into wrangler with `--import`: ends it when the command that started it was killed, which closes the pipe between
// them. It would go on with the deployment while the next run repeats it.
import { Socket } from 'node:net'

const pipe = new Socket({ fd: 3, readable: true, writable: false })
pipe.on('close', () => process.exit(1))
pipe.resume()
pipe.unref()
