import { int32, int64, object, type TProperties } from './schema.js'

/** An object with a title; the OpenAPI document defines it once and refers to it. */
export function resource<P extends TProperties>(title: string, description: string, properties: P) {
  return object(properties, { title, description })
}

/** A point in time of an answer, in milliseconds. */
export function instant(description: string) {
  return int64({ description: `${description}, ms` })
}

/** An hour of the day in the time zone of the application, 0 to 23. */
export function hour(description: string) {
  return int32({ minimum: 0, maximum: 23, description: `${description}, hour 0-23` })
}
