import { int32, int64, object, type TProperties } from '../schema.js'

export function resource<P extends TProperties>(title: string, description: string, properties: P) {
  return object(properties, { title, description })
}

/** A point in time of an answer, in milliseconds. */
export function instant(description: string) {
  return int64({ description: `${description}, ms` })
}

export function hour(description: string) {
  return int32({ minimum: 0, maximum: 23, description: `${description}, hour 0-23` })
}
