/** Origins of pages that may call the service from browsers. */
export class Origins {
  readonly #origins: ReadonlySet<string> | null

  /** @param origins `*` for every origin */
  constructor(origins: '*' | readonly string[]) {
    this.#origins = origins === '*' ? null : new Set(origins)
  }

  /** True when every origin is allowed. */
  get areAll(): boolean {
    return this.#origins === null
  }

  /** @param origin as in the header Origin */
  allows(origin: string): boolean {
    return this.#origins === null || this.#origins.has(origin)
  }
}
