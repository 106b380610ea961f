#include "cli/words.h"

#include <stddef.h>

#include "tightlip/domain.h"
#include "tightlip/norm.h"
#include "tightlip/search.h"
#include "tightlip/transformer.h"
#include "tightlip/words.h"

#define WORD2(id, name) name,
#define WORD3(id, name, text) name,

const char *const tl_cli_kind_words[] = {TL_KIND_LIST(WORD2) NULL};
const char *const tl_cli_mask_words[] = {TL_MASK_LIST(WORD2) NULL};
const char *const tl_cli_norm_words[] = {TL_NORM_LIST(WORD3) NULL};
const char *const tl_cli_objective_words[] = {TL_OBJECTIVE_LIST(WORD3) NULL};
const char *const tl_cli_domain_words[] = {TL_DOMAIN_LIST(WORD3) NULL};
const char *const tl_cli_start_words[] = {TL_START_LIST(WORD3) NULL};
const char *const tl_cli_family_words[] = {TL_FAMILY_LIST(WORD2) NULL};
const char *const tl_cli_numbering_words[] = {TL_NUMBERING_LIST(WORD2) NULL};
