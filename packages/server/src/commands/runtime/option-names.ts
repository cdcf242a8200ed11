/** The names of the fields of an operation in a command, such as --secret-file for app_secret. */
export type OptionNames = Readonly<Record<string, string>>

/**
 * Replaces the names of fields in a message of the service by those of the command. A name without
 * an underscore may be a common word, so it is replaced only at the beginning of a fault and in a
 * list; `user does not exist` speaks of the user.
 */
export function withOptionNames(message: string, names: OptionNames): string {
  const nameOf = (field: string) => (Object.hasOwn(names, field) ? names[field] : undefined)
  return message
    .replace(/(^|: |; |, )([a-z]+)(?=[ .[,:])(?! does not exist)/g, (all, before, field) =>
      nameOf(field) === undefined ? all : `${before}${nameOf(field)}`,
    )
    .replace(/(?<![\w.-])[a-z]+(?:_[a-z]+)+\b/g, (field) => nameOf(field) ?? field)
}
