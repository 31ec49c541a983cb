import { describeConformance } from './support/conformance.ts'
import { dialectHarnesses } from './support/dialects.ts'

for (const harness of dialectHarnesses) describeConformance(harness)
