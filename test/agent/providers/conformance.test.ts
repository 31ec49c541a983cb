import { describeConformance } from './support/conformance.ts'
import { dialectHarnesses } from './support/dialects.ts'

for (const wire of dialectHarnesses) describeConformance(wire)
