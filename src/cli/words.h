/* The words of the library's lists, for CLI_CHOICE and CLI_SET options. Each ends with NULL. */
#ifndef TIGHTLIP_CLI_WORDS_H
#define TIGHTLIP_CLI_WORDS_H

extern const char *const tl_cli_kind_words[];
extern const char *const tl_cli_mask_words[];
extern const char *const tl_cli_norm_words[];
extern const char *const tl_cli_objective_words[];
extern const char *const tl_cli_domain_words[];
extern const char *const tl_cli_start_words[];
extern const char *const tl_cli_family_words[];
extern const char *const tl_cli_numbering_words[];

#endif
