/** The worker of the tests that run inside workerd: it exports the classes they put objects into. */

export { FilesObject } from '../backends/support/files-object.ts'

export default { fetch: () => new Response('ok') }
