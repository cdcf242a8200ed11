/**
 * The reference of the API: its OpenAPI document and its presentation. Separate from the contract,
 * so that browsers need not load it.
 */
export * from './document.js'
export * from './parts.js'
export * from './reference.js'
