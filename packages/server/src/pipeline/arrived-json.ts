import { JsonLimitError, parseJson } from '../lib/json.js'
import { invalid } from './parameters.js'

/**
 * Parses JSON of a caller.
 * @param name of the text in errors: `the body`
 * @throws AppError invalid_parameter
 */
export function parseArrived(text: string, name: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    const problem = error instanceof JsonLimitError ? error.message : 'must be valid JSON'
    throw invalid([`${name} ${problem}`])
  }
}
