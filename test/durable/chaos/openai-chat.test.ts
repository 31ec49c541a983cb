import { testFaults } from './suite.ts'
import { openaiChat } from './wires/openai-chat.ts'

testFaults(openaiChat)
