import { createRequire } from 'node:module'
import type { OperationExamples } from '@hermod/protocol/openapi'

/** Reads the recorded examples of all operations, which only documents need. */
export function openApiExamples(): OperationExamples {
  return createRequire(import.meta.url)('@hermod/protocol/openapi-examples.json')
}
