import { testFaults } from './suite.ts'
import { openaiResponses } from './wires/openai-responses.ts'

testFaults(openaiResponses)
