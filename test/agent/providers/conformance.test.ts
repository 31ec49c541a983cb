import { conforms } from './support/conformance.ts'
import { wires } from './support/dialects.ts'

for (const wire of wires) conforms(wire)
