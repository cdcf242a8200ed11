/** No application can allow larger files: what stores that speak S3 take at once. */
export const maxFileBytes = 5 * 2 ** 30
