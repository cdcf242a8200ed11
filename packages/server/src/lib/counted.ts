/**
 * Returns a count with its noun, such as `1 file` and `2 files`. A verb may follow the noun: `1 file
 * is` and `2 files are`.
 */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${Number(count) === 1 ? one : many}`
}
