import { conforms } from '../conformance.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'

conforms('virtual in an isolate', (work) => inWorkspace({ loader: bindings.LOADER }, ({ backend }) => work(backend)))
conforms('virtual inline', (work) => inWorkspace({}, ({ backend }) => work(backend)), 'turns')
