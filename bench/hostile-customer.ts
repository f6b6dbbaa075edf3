import type { Answer } from './support/question.ts';
export const hostileCustomer = async (): Promise<readonly Answer[]> => [];
