/** The client for browsers. */
export * from './public.js'
