/**
 * Reads something at most once in each run of code.
 */

/**
 * Makes a function that gives the result of `read`, which it calls only once in each run of code: from the moment Node calls into the program
 * until the program returns to Node. Whatever the program works on in that time was received before, so no sender of a request can have known
 * a newer result when it sent the request.
 */
export function oncePerRun<Result>(read: () => Result): () => Result {
  let isRead = false;
  let result: Result;
  const forget = () => {
    isRead = false;
  };
  return () => {
    if (!isRead) {
      result = read();
      isRead = true;
      process.nextTick(forget);
    }
    return result;
  };
}
