import { type ErrorName, errorCatalogue } from '@hermod/protocol'

const errors = Object.entries(errorCatalogue).map(([name, { code }]) => [name, code])

/** The codes of answers by the names of the error catalogue; `ok` is success. */
export const answerCode = { ok: 200, ...Object.fromEntries(errors) } as Readonly<
  Record<ErrorName | 'ok', number>
>
