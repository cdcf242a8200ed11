/** Where images and files are, as users may write it. */
import { string } from './schema.js'

/** Clients that show a link must not run it as code, so some schemes are refused. */
const runningSchemes = ['javascript', 'data', 'vbscript']
  .map((scheme) => [...scheme].map((letter) => `[${letter}${letter.toUpperCase()}]`).join(''))
  .join('|')

/** Where an image or a file is (rule F8b). */
export function location(what: string, options: { readonly minLength?: number } = {}) {
  return string({
    description: `${what}: http or https URL, path from /, or name of an uploaded object`,
    maxLength: 2048,
    pattern: `^(?!\\s*(${runningSchemes}):)(?!([\\s\\S]*/)?\\.\\.([/?#]|$))[^\\p{Cc}\\\\]*$`,
    form: 'an http or https URL, a path from / or an object name, without control characters, backslashes and .. parts, and not with the scheme javascript, data or vbscript',
    examples: ['https://example.org/1.png'],
    ...options,
  })
}
