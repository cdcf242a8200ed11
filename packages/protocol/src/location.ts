/** Schema of the addresses of images and files. */
import { controlCharacters, string } from './schema.js'

/** Schemes that a client showing the link might run as code; they are refused. */
const runningSchemes = ['javascript', 'data', 'vbscript']
  .map((scheme) => [...scheme].map((letter) => `[${letter}${letter.toUpperCase()}]`).join(''))
  .join('|')

/** Returns the schema of the address of an image or file (rule F8b). */
export function location(what: string, options: { readonly minLength?: number } = {}) {
  return string({
    description: `${what}: http or https URL, path from /, or name of an uploaded object`,
    maxLength: 2048,
    pattern: `^(?!\\s*(${runningSchemes}):)(?!([\\s\\S]*/)?\\.\\.([/?#]|$))[^${controlCharacters}\\\\]*$`,
    form: 'an http or https URL, a path from / or an object name, without control characters, backslashes and .. parts, and not with the scheme javascript, data or vbscript',
    examples: ['https://example.org/1.png'],
    ...options,
  })
}
