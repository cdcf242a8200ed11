/** The message templates that the vendors have approved for the simulated apps. */
import { isTextWithin, readJson } from './reading.js'

/** ID of each template, and the names of its parameters. */
export const simulatedTemplates = {
  vendor_x: { id: 'template-x', parameters: ['sender', 'text'] },
  vendor_o: { id: 'template-o', title_parameters: ['sender'], content_parameters: ['text'] },
} as const

/** Emoji, symbols and unassigned characters. */
const refusedCharacter = /[\p{So}\p{Emoji_Presentation}\p{Cn}\p{Cs}]/u

/**
 * Returns the reason why a vendor refuses the values of a template; null when it takes them.
 *
 * @param json object of values; undefined for none
 * @param names of all parameters of the template
 */
export function templateValueProblem(
  json: unknown,
  names: readonly string[],
  maxLength: number,
): string | null {
  const values = readJson(typeof json === 'string' ? json : '{}')
  if (values === null) return 'syntax error, pos 1'
  const missing = names.find((name) => !(name in values))
  if (missing !== undefined) return `template_parameters no ${missing}`
  const wrong = Object.entries(values).find(
    ([name, value]) =>
      !names.includes(name) ||
      !isTextWithin(value, maxLength) ||
      refusedCharacter.test(String(value)),
  )
  return wrong === undefined ? null : `template_parameters wrong ${wrong[0]}`
}
