/** The reference of the API: its OpenAPI document and what readers are shown of it. Apart from the contract, so that browsers need not load it. */
export * from './document.js'
export * from './partial.js'
export * from './reference.js'
