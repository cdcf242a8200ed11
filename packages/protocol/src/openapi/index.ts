/**
 * The reference of the API: its OpenAPI document and its presentation. Separate from the contract,
 * so that browsers need not load it.
 */
export * from './document.js'
export { type JsonSchema, resolveSchema } from '../json-schema.js'
export { exampleUserId, type OperationExample, type OperationExamples } from './examples.js'
export * from './parts.js'
export type { ReferenceRequest } from './recorded-calls.js'
export * from './reference.js'
