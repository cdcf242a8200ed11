/** The AsyncAPI document of the gateway. Separate from the contract, so that browsers need not load it. */
export * from './document.js'
