/** Exports the dialect `bedrock-converse`, which signs requests for AWS. */

export { bedrockConverse } from '#agent/providers/bedrock/bedrock.ts'
